import { expect, it } from "vitest";
import { CONTROL_SOCKETS, handedSockets } from "./handed-sockets.ts";

const env = (names: string | undefined, pid = 7) => ({
  LISTEN_PID: String(pid),
  LISTEN_FDS: "2",
  LISTEN_FDNAMES: names,
});

it("finds the sockets of this process by name, and none of another one", () => {
  const handed = (variables: object) => Object.fromEntries(handedSockets({ ...variables }, CONTROL_SOCKETS, 7));
  expect({
    mine: handed(env("metrics:admin")),
    ofAnother: handed(env("metrics:admin", 8)),
    none: handed({}),
  }).toEqual({ mine: { metrics: 3, admin: 4 }, ofAnother: {}, none: {} });
});

it.each(["abc", "-1", "1e1", "17", "99999999"])("refuses %s sockets and says how many there can be", (LISTEN_FDS) => {
  expect(() => handedSockets({ ...env("admin"), LISTEN_FDS }, CONTROL_SOCKETS, 7)).toThrow(
    "LISTEN_FDS must be the number of handed sockets, from 0 to 16, in digits",
  );
});

it("says that the names of the sockets are missing", () => {
  expect(() => handedSockets(env(undefined), CONTROL_SOCKETS, 7)).toThrow(
    "LISTEN_FDNAMES is required with LISTEN_FDS: one of admin, metrics, dashboard for each socket, separated by colons",
  );
});

it.each(["admin:proxy", "admin:admin", "admin"])("refuses the names %s and says which it takes", (names) => {
  expect(() => handedSockets(env(names), CONTROL_SOCKETS, 7)).toThrow(
    "FileDescriptorName= of each socket unit must be one of admin, metrics, dashboard, and each unit must have one ListenStream=",
  );
});
