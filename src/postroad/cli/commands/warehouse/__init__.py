"""Commands that work on the warehouse or on Spark: pipeline, bulk, what-if, reports and billing."""
