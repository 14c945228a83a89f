"""Reports: small tables by day, made of the marts, and what is shown of them.

traffic, errors, latency, partners, undelivered     frames → a table, one module each, its grain at the top
partner_days, anomalies, scoring                    what is sudden: figures per organization and day, and how odd they are
tables                                              the finished tables, read without Spark, for a period
summaries                                           what a report says of them
plots                                               charts
"""
