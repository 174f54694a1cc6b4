/**
 * The embedded key-value store: Store, commands and publish/subscribe in this process. It keeps nothing across a restart;
 * the control service writes every hot copy again when it starts.
 */
import { type Backend, type Command, RedisError, type Reply } from "./backend.ts";
import { checkCommand, runCommand } from "./commands.ts";
import { Store } from "./store.ts";

const MAX_BYTES = 256 * 1024 * 1024;

type Listener = (channel: string, message: string) => void;

/** A store in this process. `now` returns milliseconds; a test may replace it. */
export function memoryBackend(now: () => number = Date.now, maxBytes = MAX_BYTES): Backend {
  const store = new Store(maxBytes, (key) => /^(cache|ref|tenant-captures):/.test(key));
  const listeners = new Map<string, Set<Listener>>();

  const publish = (channel: string, message: string): number => {
    const found = [...(listeners.get(channel) ?? [])];
    for (const listener of found) listener(channel, message);
    return found.length;
  };
  const check = (command: Command): void => {
    if (command[0].toUpperCase() !== "PUBLISH") checkCommand(command);
    else if (command.length !== 3) throw new RedisError("ERR wrong number of arguments for 'publish' command");
  };
  const run = (command: Command): Reply => {
    check(command);
    if (command[0].toUpperCase() === "PUBLISH") return publish(command[1] ?? "", command[2] ?? "");
    return runCommand(store, command, now());
  };

  return {
    call: async (command) => run(command),
    transaction: async (commands) => {
      for (const command of commands) {
        try {
          check(command);
        } catch {
          throw new RedisError("EXECABORT Transaction discarded because of previous errors.");
        }
      }
      return commands.map((command) => {
        try {
          return run(command);
        } catch (error) {
          if (error instanceof RedisError) return error;
          throw error;
        }
      });
    },
    subscribe: async (channels, onMessage) => {
      const listener: Listener = (channel, message) => onMessage(channel, message);
      for (const channel of channels) listeners.set(channel, (listeners.get(channel) ?? new Set()).add(listener));
      return () => {
        for (const channel of channels) {
          const set = listeners.get(channel);
          set?.delete(listener);
          if (set?.size === 0) listeners.delete(channel);
        }
      };
    },
    close: async () => {
      listeners.clear();
      store.clear();
    },
  };
}
