"""A month of a network's life in seconds: a real journal of made-up traffic, for tests, benchmarks and the warehouse.

    plan        how much, of whom, from when on, and what is to go wrong
    cast        the organizations, services and rules, who trades with whom and how each behaves
    rhythm      when messages are posted: by hour, by day of the week
    clocks      the clocks of the nodes, one of which is behind now and then
    documents   purchase orders and answers, as long as asked for
    routes      the copies of a message, found by the router itself
    timetable   stories told at the same time, entry by entry in the order in which they happen
    parcel      a delivery on its way through a story
    posting     stories that begin: requests, notifications, refusals, changes of the configuration
    receiving   stories that go on: polled, pushed, worked on in transit, answered, acknowledged
    ending      stories that end before their time: expired, given up, rejected, withdrawn
    generate    plan → records → a journal on the disk

Kept rule: everything that differs between two runs comes from the seed, so a plan names its journal. Entries keep the promises
of the real flow (a journey ends once, numbers and sessions agree), which the tests check by rebuilding an index from them.
"""
