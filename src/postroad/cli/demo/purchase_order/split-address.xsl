<?xml version="1.0" encoding="UTF-8"?>
<!-- Makes <Address><Street/><City/><Zip/></Address> of an address in one line: "Street, City, Zip". -->
<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="xml" encoding="UTF-8" omit-xml-declaration="yes"/>
  <xsl:mode on-no-match="shallow-copy"/>

  <xsl:template match="Address[not(*)]">
    <xsl:variable name="lines" select="tokenize(., ',') ! normalize-space()"/>
    <Address>
      <Street><xsl:value-of select="$lines[position() le last() - 2]" separator=", "/></Street>
      <City><xsl:value-of select="$lines[last() - 1]"/></City>
      <Zip><xsl:value-of select="$lines[last()]"/></Zip>
    </Address>
  </xsl:template>
</xsl:stylesheet>
