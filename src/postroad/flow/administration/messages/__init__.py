"""Messages for their parties: lists, histories, contents, costs, explanations and search."""
