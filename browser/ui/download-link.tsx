import { Download } from "lucide-react";
import classes from "./button.module.css";
import { classNames } from "./class-names.ts";

interface DownloadLinkProps {
  /** Of a file that the server makes. */
  readonly href: string;
  readonly label: string;
  /** What is in the file. */
  readonly title?: string;
}

/** A link to a file, which looks like a button. */
export function DownloadLink({ href, label, title }: DownloadLinkProps) {
  return (
    <a className={classNames(classes["button"], classes["download"])} href={href} download title={title}>
      <Download size={14} aria-hidden />
      {label}
    </a>
  );
}
