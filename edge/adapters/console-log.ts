/**
 * The Worker's log: one JSON line per event on the platform's console. Callers pass plain facts; bodies, credentials and
 * upstream errors never get here.
 */
import type { Log } from "../ports.ts";

export const consoleLog: Log = {
  event(name, fields) {
    console.log(JSON.stringify({ event: name, ...fields }));
  },
};
