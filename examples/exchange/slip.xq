<slip order="{$msg/order/@id}">{
  for $item in $msg/order/item
  order by $item/@sku
  return <pick sku="{$item/@sku}" quantity="{$item/@quantity}"/>
}</slip>
