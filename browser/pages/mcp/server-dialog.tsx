import { CreateServer } from "./create-server.tsx";
import { ServerPanel } from "./server-panel.tsx";

interface ServerDialogProps {
  /** The server that is open; null: a new one is made. */
  readonly serverId: string | null;
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

/** A server, or a new one. Both are one file: apart, what they share would be in the first load. */
export function ServerDialog({ serverId, onClose, onCreated }: ServerDialogProps) {
  return serverId === null ? (
    <CreateServer onClose={onClose} onCreated={onCreated} />
  ) : (
    <ServerPanel key={serverId} serverId={serverId} onClose={onClose} />
  );
}
