"""A journal of simulated traffic, a month in seconds, for tests, benchmarks and the warehouse.

    plan            volume, organizations, first day, and incidents
    participants    the organizations, services and rules, their partners and habits
    rules           the rules that route some topics through a vendor's service
    posting_times   when messages are posted: by hour, by day of the week
    node_clocks     the clocks of the nodes, one of which falls behind at times
    documents       purchase orders and responses of a given length
    routes          the copies of a message, found by the router itself
    timetable       runs many generators in parallel, and writes their entries in order of time
    deliveries      a delivery in transit
    shared_state    what all generators share
    posting         generators that begin: requests, notifications, refusals, configuration changes
    receiving       generators that continue: polled, pushed, processed in transit, acknowledged
    answering       answers of in-transit services and of recipients
    ending          early ends: expired, given up, rejected, withdrawn
    generate        plan → records → a journal on disk

Rule: all randomness comes from the seed, so the same plan always gives the same journal. Entries are as consistent as those
of the real flow (a journey ends once, numbers and sessions agree); tests check this by building an index from them.
"""
