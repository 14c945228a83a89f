"""What-if: logged traffic under the current and a changed configuration, and the differences.

    comparison        the routes of one logged message under two directories
    reasons           the reasons for a changed route, as text
    model_change      the directory with another tree of a model
    forwards          what exchanges and models would forward; forward_changes: the differences and their reasons
    port_arrivals     what reaches send ports; send_ports: the batches made of it, and their costs
    rows              the rows of each message, as Arrow
    billing           the costs of both sides
    report_tables     the rows of all messages → the tables of the report
    report            the types of a finished report
    page, svg_charts  the report as one self-contained HTML page
    journal_replay    one pass over a piece of a journal
    job               Spark: pieces of the journal → rows → report

Rule: nothing is delivered, stored or changed. A message is decided only if all content that rules would read is still
stored; otherwise it is counted as undecidable.
"""
