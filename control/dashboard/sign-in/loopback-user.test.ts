import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { loopbackUser } from "./loopback-user.ts";

/** Both ends of a connection to this listener. */
async function connected(listens: string, calls: string): Promise<readonly [server: Socket, client: Socket]> {
  const server = createServer();
  server.listen(0, listens);
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, calls);
  const [socket] = (await once(server, "connection")) as [Socket];
  server.close();
  return [socket, client];
}

describe.runIf(process.platform === "linux")("the user of this machine at the other end", () => {
  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "::ffff:127.0.0.1"],
    ["0.0.0.0", "127.0.0.5"],
    ["::", "127.0.0.1"],
    ["::1", "::1"],
  ])("of a connection to %s by %s is this process's", async (listens, calls) => {
    const [socket, client] = await connected(listens, calls);
    expect(await loopbackUser(socket)).toBe(String(process.getuid?.()));
    client.destroy();
    socket.destroy();
  });

  it("is unknown once the client has closed its socket, which then seems to be root's", async () => {
    const [socket, client] = await connected("127.0.0.1", "127.0.0.1");
    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    client.destroy();
    await once(client, "close");
    expect(await loopbackUser({ remoteAddress, remotePort, localAddress, localPort })).toBeNull();
    socket.destroy();
  });

  it("is unknown for a connection that does not exist", async () => {
    const ends = { remoteAddress: "127.0.0.1", localAddress: "127.0.0.1", remotePort: 1, localPort: 2 };
    expect(await loopbackUser(ends)).toBeNull();
    expect(await loopbackUser({})).toBeNull();
  });
});
