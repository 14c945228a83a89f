"""XQuery code that runs a batch of queries over one message and classifies each result.

Rules: a boolean decides. An empty result and an error mean no match. For any other result the effective boolean value
decides, and where that is undefined, the query matches. A result that is neither a boolean nor the message itself is
new content, written by the method in the query's options, otherwise as JSON if it contains a map or an array, as text
if it contains only values, and else as XML.

The function's result is one sequence: the kinds of all answers, one letter each, then the texts of those that have
one.
"""

from __future__ import annotations

from postroad.adapters.confined.frames import AnswerKind

KINDS: dict[str, AnswerKind] = {
    "0": "no", "1": "same", "x": "xml", "p": "entity", "t": "text", "j": "json", "h": "html", "e": "error",
}  # fmt: skip
WITHOUT_TEXT = "01"

_DECLARATIONS = """
declare namespace o = "http://www.w3.org/2010/xslt-xquery-serialization";
declare namespace array = "http://www.w3.org/2005/xpath-functions/array";
declare namespace err = "http://www.w3.org/2005/xqt-errors";

declare function local:is-true($result as item()*) as xs:boolean {
  try { boolean($result) } catch err:FORG0006 { true() }
};

declare function local:is-message($result as item()*, $msg as item()?) as xs:boolean {
  if (count($result) ne 1) then false()
  else if ($result instance of node() and $msg instance of node()) then $result is $msg
  else if ($result instance of node() or $msg instance of node()) then false()
  else deep-equal($result, $msg)
};

declare function local:method($content as item()*, $options as element()?) as xs:string {
  if ($options/o:method) then string($options/o:method/@value)
  else if (some $item in $content satisfies $item instance of function(*)) then 'json'
  else if (every $item in $content satisfies ($item instance of xs:anyAtomicType or $item instance of text())) then 'text'
  else 'xml'
};

declare function local:options($method as xs:string, $options as element()?) as element() {
  <o:serialization-parameters>
    <o:method value="{$method}"/>
    { if ($options/o:omit-xml-declaration) then () else <o:omit-xml-declaration value="yes"/> }
    { $options/*[not(self::o:method)] }
  </o:serialization-parameters>
};

declare function local:letter($content as item()*, $method as xs:string) as xs:string {
  let $elements := $content ! (if (. instance of document-node()) then * else .[. instance of element()])
  let $others := $content ! (if (. instance of document-node()) then text() else .[not(. instance of node()) or self::text()])
  return switch ($method)
    case 'json' return 'j'
    case 'html' case 'xhtml' return 'h'
    case 'xml' return if (count($elements) eq 1 and empty($others)) then 'x' else 'p'
    default return 't'
};

declare function local:content($result as item()*, $options as element()?) as xs:string+ {
  let $shown := $result ! (if (. instance of attribute() or . instance of namespace-node()) then string(.) else .)
  let $method := local:method($shown, $options)
  let $content := if ($method eq 'json' and count($shown) ne 1) then array { $shown } else $shown
  return (local:letter($content, $method), serialize($content, local:options($method, $options)))
};

declare function local:verdict($result as item()*, $msg as item()?, $options as element()?) as xs:string+ {
  if (empty($result)) then '0'
  else if (count($result) eq 1 and $result instance of xs:boolean) then (if ($result) then '1' else '0')
  else if (not(local:is-true($result))) then '0'
  else if (local:is-message($result, $msg)) then '1'
  else local:content($result, $options)
};

declare function local:fault($code as xs:QName, $words as xs:string?, $line as xs:integer?) as xs:string {
  string-join((if ($line gt 0) then 'line ' || $line else (), local-name-from-QName($code), $words), ': ')
};
"""

MANY = f"""{_DECLARATIONS}
function($queries as array(*), $msg as item()?, $items as map(*)) as xs:string+ {{
  let $answers :=
    for $query in $queries?*
    return try {{
      array {{ local:verdict($query(1)($msg, $items), $msg, if (array:size($query) eq 2) then $query(2) else ()) }}
    }} catch * {{ ['e', local:fault($err:code, $err:description, $err:line-number)] }}
  return (string-join($answers ! .(1)), $answers[array:size(.) eq 2] ! .(2))
}}
"""

ONE = f"""{_DECLARATIONS}
function($result as item()*, $msg as item()?, $options as element()?) as xs:string+ {{
  try {{ local:verdict($result, $msg, $options) }}
  catch * {{ ('e', local:fault($err:code, $err:description, $err:line-number)) }}
}}
"""
