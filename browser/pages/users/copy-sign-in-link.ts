import { usersTexts } from "../../messages/en/users.ts";
import { texts } from "../../messages/texts.ts";
import { toast } from "../../ui/toast.ts";

const text = texts("users", usersTexts);

/** Copies the link that everybody signs in with; a browser that lets no page copy gets it to read. `done` has happened before. */
export async function copySignInLink(done?: string): Promise<void> {
  const link = `${location.origin}/sign-in`;
  let said = text("copiedLink");
  try {
    await navigator.clipboard.writeText(link);
  } catch {
    said = text("link");
  }
  toast(done === undefined ? { title: said, detail: link } : { title: done, detail: `${said}: ${link}` });
}
