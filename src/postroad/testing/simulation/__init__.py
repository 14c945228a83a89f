"""Days of traffic in seconds: the real flow code over memory, on a virtual clock and with seeded randomness.

    virtual_time            an event loop that never waits, and its clock and randomness
    storage                 a journal and an index that take time, fail at times, and can be cut off
    network                 the network as one process that may crash and restart over what its journal kept
    observations            what services observed: the promises are checked against it
    simulated_services      a service: its calls to the network, and its retries
    receivers               how services receive: promptly, slowly, not at all, or in violation of the rules
    rules                   random services and rules
    senders                 how services send
    dead_letter_operators   operators that resend and drop dead letters
    suspensions             operators that suspend services
    recorded_history        the history in the journal, by a simple independent reader
    history_check           compares the histories that the network reports with it
    restart_check           a restart on a copy, at any moment
    promises                what must hold at the end
    scenario                simulate(seed) → SimulationReport

Rule: everything that differs between two runs comes from the seed, so a seed is a test.
"""
