/**
 * Stands for a service manager that listens for a service (systemd's socket units): it holds sockets on free loopback ports, and runs a
 * command with them as often as it is told, one after another. While the command runs this process is blocked, so it takes no
 * connection itself: `node socket-holder.mjs <times> <names, such as proxy:admin> <command> args...`. It says the ports, and the pid
 * of each run, in a line of JSON.
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import net from "node:net";

const [times = "1", names = "", ...command] = process.argv.slice(2);
const servers = names.split(":").map(() => net.createServer().listen(0, "127.0.0.1"));
await Promise.all(servers.map((server) => once(server, "listening")));
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
say({ event: "held", ports: servers.map((server) => server.address().port) });
const first = `echo "{\\"event\\":\\"run\\",\\"pid\\":$$}"; export LISTEN_PID=$$; exec "$@"`;
for (let run = 0; run < Number(times); run += 1)
  spawnSync("/bin/sh", ["-c", first, "sh", ...command], {
    stdio: ["ignore", "inherit", "inherit", ...servers.map((server) => server._handle.fd)],
    env: { ...process.env, LISTEN_FDS: String(servers.length), LISTEN_FDNAMES: names },
  });
process.exit(0);
