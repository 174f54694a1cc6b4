import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { LocalUsers } from "./local-users.ts";

/** Both ends of a connection to this listener. */
async function connected(listens: string, calls: string): Promise<readonly [server: Socket, client: Socket]> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, listens);
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, calls);
  const [socket] = (await once(server, "connection")) as [Socket];
  server.close();
  return [socket, client];
}

const users = new LocalUsers();
const localUser = async (...ends: Parameters<typeof users.of>) => await users.of(...ends);

describe.runIf(process.platform === "linux")("the user of this machine at the other end", () => {
  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "::ffff:127.0.0.1"],
    ["0.0.0.0", "127.0.0.5"],
    ["::", "127.0.0.1"],
    ["::1", "::1"],
  ])("of a connection to %s by %s is this process's", async (listens, calls) => {
    const [socket, client] = await connected(listens, calls);
    expect(await localUser(socket)).toBe(process.getuid?.());
    client.destroy();
    socket.destroy();
  });

  it("is unknown once the client has closed its socket, which then seems to be root's", async () => {
    const [socket, client] = await connected("127.0.0.1", "127.0.0.1");
    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    client.destroy();
    await once(client, "close");
    expect(await localUser({ remoteAddress, remotePort, localAddress, localPort })).toBe("unknown");
    socket.destroy();
  });

  it("is still known once the client has closed its half", async () => {
    const [socket, client] = await connected("127.0.0.1", "127.0.0.1");
    client.end();
    await once(client, "finish");
    expect(await localUser(socket)).toBe(process.getuid?.());
    client.destroy();
    socket.destroy();
  });

  it("is nobody's for a connection that does not exist, and unknown for one without ends", async () => {
    const ends = { remoteAddress: "127.0.0.1", localAddress: "127.0.0.1", remotePort: 1, localPort: 2 };
    expect(await localUser(ends)).toBe("none");
    expect(await localUser({})).toBe("unknown");
  });
});

/** As the kernel writes it: 127.0.0.1, port 7 to 8000 and up, user 65534. */
const tableOf = (count: number): string =>
  Array.from({ length: count }, (_, nth) => {
    const own = `0100007F:${(8000 + nth).toString(16).toUpperCase()}`;
    return `  ${nth}: ${own} 0100007F:0007 01 00000000:00000000 00:00000000 00000000 65534        0 ${nth + 1} 1 0 20 4 30 10 -1`;
  }).join("\n");

it("is found although the kernel skipped the connection in the first tables", async () => {
  const tables = ["", "", tableOf(1), ""];
  const later = new LocalUsers(async () => tables.shift() ?? "");
  const ends = { remoteAddress: "127.0.0.1", remotePort: 8000, localAddress: "127.0.0.1", localPort: 7 };
  expect(await later.of(ends)).toBe(65_534);
});

it("is looked up for many connections at once in two reads, and once for each connection", async () => {
  const read: string[] = [];
  const counted = new LocalUsers(async (path) => {
    read.push(path);
    return tableOf(200);
  });
  const connections = Array.from({ length: 200 }, (_, nth) => ({
    remoteAddress: "127.0.0.1",
    remotePort: 8000 + nth,
    localAddress: "127.0.0.1",
    localPort: 7,
  }));
  const ask = async () => await Promise.all(connections.map(async (one) => await counted.of(one)));
  expect(new Set(await ask())).toEqual(new Set([65_534]));
  expect(new Set(await ask())).toEqual(new Set([65_534]));
  expect(read).toEqual(["/proc/net/tcp", "/proc/net/tcp6", "/proc/net/tcp", "/proc/net/tcp6"]);
});

const ofNobody = { remoteAddress: "127.0.0.1", remotePort: 1, localAddress: "127.0.0.1", localPort: 2 };
const failure = (code: string) => Object.assign(new Error(code), { code });

it.each(["EMFILE", "ENFILE", "EACCES"])("is unknown while the tables cannot be read because of %s", async (code) => {
  const missing = { "/proc/net/tcp": code, "/proc/net/tcp6": "ENOENT" } as Readonly<Record<string, string>>;
  const failing = new LocalUsers(async (path) => await Promise.reject(failure(missing[path] ?? "")));
  expect(await failing.of(ofNobody)).toBe("unknown");
});

it("is untold on a system without tables, and told by the one that there is", async () => {
  const without = new LocalUsers(async () => await Promise.reject(failure("ENOENT")));
  expect(await without.of(ofNobody)).toBe("untold");
  const one = new LocalUsers(async (path) => (path.endsWith("6") ? await Promise.reject(failure("ENOENT")) : ""));
  expect(await one.of(ofNobody)).toBe("none");
});
