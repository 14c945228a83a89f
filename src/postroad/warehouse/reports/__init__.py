"""Reports: small tables by day, made from the marts, and their presentation.

traffic, errors, latency, partners, undelivered     frames → a table, one module each, its grain at the top
partner_days, anomalies, anomaly_scores             sudden changes: figures per organization and day, and their scores
report_tables                                       the finished tables, read without Spark, for a period
catalog                                             the reports by name
chart_files                                         charts
"""
