"""Days of traffic in seconds: the real flow code over memory, on a clock that jumps and with chance that can be repeated.

    virtual_time   an event loop that never waits, a clock and a randomness that go with it
    storage        a journal and an index that take their time, fail now and then, and can be cut off
    network        the network as one process that may crash and start again over what its journal kept
    ledger         what services were told: the promises are checked against it, not against what the network believes
    parties        a service: how it asks, and what it does when there is no answer
    behaviour      how services receive: promptly, slowly, not at all, or against every rule
    rules          services and rules drawn at random
    sending        how services send
    clerks         how people deal with dead letters
    operators      how operators suspend services
    bookkeeping    what a journal says happened, told by the plainest reading of it
    histories      the histories that the network tells of it
    rehearsal      a restart, tried on a copy at any moment
    promises       what must hold at the end
    scenario       simulate(seed) → Report

Kept rule: everything that differs between two runs comes from the seed, so a seed is a test.
"""
