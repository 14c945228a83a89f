"""Example texts for the text fields of forms.

Rule: every example is valid input for its field; a test tries each of them.
"""

from __future__ import annotations

EXAMPLES = {
    "rule": """\
role: sender
when: {equals: {header: topic, value: order}}
then:
  - addServiceAfter: Transmatics/xslt
    arguments: {stylesheet: split-address}
""",
    "when and then": """\
when:
  and:
    - equals: {header: topic, value: order}
    - greaterThan: {body: /Order/Total, as: number, value: 1000}
then:
  - addServiceAfter: Acme/Credit
  - addService: Acme/Archive
""",
    "binding": """\
routingKey: order
query: $msg/Order/Total > 1000
""",
    "stylesheet": """\
<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:template match="/Order"><Total><xsl:value-of select="sum(Item/Price)"/></Total></xsl:template>
</xsl:stylesheet>
""",
    "batches": """\
sendsTo: Acme/Supply
standard: x12
sender: MYBIZ
receiver: ACME
count: 100
cron: ["0 18 * * 1-5"]
""",
    "service": """\
arguments:
  - {name: table, description: Where to look, required: true}
windows:
  - {days: [mon, tue, wed, thu, fri], opens: "08:00", closes: "18:00"}
limits: {messageBytes: 1000000}
""",
    "model": """\
nodes:
  - {tag: north, under: world, topics: [news]}
attachments:
  - {service: Acme/Desk, side: consumer, node: north}
remove: {nodes: [south], withDescendants: true}
""",
    "network": """\
postroad: 1
organizations:
  MyBiz:
    services:
      Purchasing:
        rules:
          - name: expensive
            when: {greaterThan: {body: /Order/Total, as: number, value: 1000}}
            then: [{addServiceAfter: Acme/Credit}]
""",
}
