"""What-if: logged traffic through the rules and prices that are, and through changed ones, and what would differ.

    comparing   one logged message under two directories: does its way change, and because of which rule
    reasons     why, in words
    arriving, onward   what exchanges and models would send on of it; onward_changes, onward_reasons, onward_rows: likewise
    port_arrivals, port_batches, port_tables, port_report   what comes to send ports, the batches made of it, and their costs
    rows        what is told of each message, as Arrow
    billing     what both ways would cost whom
    tables      the rows of all messages → the tables of the report
    report      the nouns of a finished report
    page        the report as one HTML page that needs nothing from elsewhere
    job         Spark: pieces of the journal → rows → report

Kept rule: nothing is delivered, stored or changed; a message is decided only where everything that rules would look at is still
there, and counted as not decidable otherwise.
"""
