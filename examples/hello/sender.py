"""Orders something and waits for the answer. POSTROAD_URL and POSTROAD_KEY_FILE say where and who."""

from postroad.client import Client

with Client() as network:
    network.post(to="Acme/Supply", type="request", document={"order": "PO-1", "quantity": 3})
    for answer in network.poll(wait_s=20):
        print(answer.sender, "says", answer.document)
        network.acknowledge(answer)
