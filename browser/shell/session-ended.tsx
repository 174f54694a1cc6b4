import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type Session, sessionQuery } from "../data/session.ts";
import { SignInForm } from "../forms/sign-in-form.tsx";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Dialog } from "../ui/dialog.tsx";

const text = texts("shell", shellTexts);

/** People who sign in again in another window are back here soon. */
const AGAIN_EVERY_MS = 3000;

/** Asks to sign in again, over a page that stays as it is. */
export function SessionEnded({ session }: { readonly session: Session }) {
  const queries = useQueryClient();
  useQuery({ ...sessionQuery, refetchInterval: AGAIN_EVERY_MS, refetchOnWindowFocus: "always" });
  const leave = (): void => location.assign("/sign-in");
  return (
    <Dialog isOpen onClose={leave} title={text("sessionEndedTitle")}>
      <p>{text("sessionEndedText")}</p>
      <SignInForm
        providers={session.providers}
        returnTo={`${location.pathname}${location.search}`}
        onSignedIn={async () => await queries.invalidateQueries()}
        opensWindow
      />
    </Dialog>
  );
}
