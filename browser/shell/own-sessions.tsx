import type { SessionUser } from "../data/session.ts";
import { SessionList } from "../forms/sessions/session-list.tsx";
import { sessionsTexts } from "../messages/en/sessions.ts";
import { texts } from "../messages/texts.ts";
import { Dialog } from "../ui/dialog.tsx";

const text = texts("sessions", sessionsTexts);

/** Where the person has signed in, and a way to end each session. */
export function OwnSessions({ user, onClose }: { readonly user: SessionUser; readonly onClose: () => void }) {
  return (
    <Dialog isOpen onClose={onClose} title={text("title")}>
      <SessionList userId={user.id} ownId={user.session_id} />
    </Dialog>
  );
}
