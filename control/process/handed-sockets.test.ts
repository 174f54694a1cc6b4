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

it.each(["admin:proxy", "admin:admin", "admin", undefined])("refuses the names %s and says which it takes", (names) => {
  expect(() => handedSockets(env(names), CONTROL_SOCKETS, 7)).toThrow(
    "FileDescriptorName= of each socket unit must be one of admin, metrics, dashboard, and each unit must have one ListenStream=",
  );
});
