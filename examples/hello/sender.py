"""Says hello to a service and waits for the answer. POSTROAD_URL and POSTROAD_KEY_FILE say where and who."""

from postroad.client import Client, text_of

with Client() as network:
    posted = network.post(to="Hello/Receiver", type="request", document="Hello from the sender")
    for answer in network.poll(wait_s=20):
        print(text_of(answer))
        network.acknowledge(answer)
