"""XPath and JSONPath subsets: parsing, following them through documents, and schema default attributes."""
