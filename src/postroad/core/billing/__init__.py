"""Billing: journal entries become uses, uses become charges, charges become invoices.

The words: a **use** is one accepted copy of a message, or one in-transit service that did its work; a **tariff** prices uses; a
**charge** is one organization's share of one use's price; an **invoice** sums up the charges of an organization in a month.
Everything here is pure, and the reference by which the warehouse's own calculation is tested.
"""
