import { ImagePlus, X } from "lucide-react";
import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { playgroundTexts } from "../../messages/en/playground.ts";
import { texts } from "../../messages/texts.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { TextArea } from "../../ui/fields.tsx";
import { IMAGE_TYPES, readImages } from "./images.ts";
import classes from "./playground-page.module.css";

const text = texts("playground", playgroundTexts);

interface MessageFieldProps {
  readonly value: string;
  readonly images: readonly string[];
  readonly onChange: (value: string) => void;
  readonly onImages: (change: (images: readonly string[]) => readonly string[]) => void;
  readonly onSend: () => void;
  /** Why it was not sent; null or absent: nothing is wrong. */
  readonly error?: string | null;
  /** The filter of the page, to which `/` leads. */
  readonly isMain?: boolean;
  /** Buttons at its end. */
  readonly actions: ReactNode;
}

/** A message with images, from files or pasted. */
export function MessageField({ value, images, onChange, onImages, onSend, error, isMain, actions }: MessageFieldProps) {
  const file = useRef<HTMLInputElement>(null);
  const [refused, setRefused] = useState<readonly string[]>([]);
  const add = (files: readonly File[]): void => {
    void readImages(files).then((read) => {
      setRefused(read.refused);
      onImages((before) => [...before, ...read.urls]);
    });
  };
  const wrong = [error ?? "", ...refused.map((name) => text("notImage", { name }))].join(" ").trim();
  const onPaste = (event: ClipboardEvent): void => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    add(files);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    onSend();
  };
  return (
    <div className={classes["message"]}>
      <TextArea
        label={text("message")}
        isLabelHidden={isMain !== true}
        hint={isMain === true ? text("sendHint") : undefined}
        error={wrong === "" ? undefined : wrong}
        dir="auto"
        rows={3}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={onKey}
        onPaste={onPaste}
        {...(isMain === true ? { "data-page-filter": true } : {})}
      />
      <Images images={images} onRemove={(at) => onImages((before) => before.filter((_, nth) => nth !== at))} />
      <div className={classes["messageEnd"]}>
        <input
          ref={file}
          type="file"
          multiple
          hidden
          accept={IMAGE_TYPES.join(",")}
          aria-label={text("addImages")}
          onChange={(event) => {
            add([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        <Button icon={<ImagePlus size={14} aria-hidden />} onClick={() => file.current?.click()}>
          {text("addImages")}
        </Button>
        {actions}
      </div>
    </div>
  );
}

/** The images of a message. */
export function Images({
  images,
  onRemove,
}: {
  readonly images: readonly string[];
  readonly onRemove?: (at: number) => void;
}) {
  if (images.length === 0) return null;
  return (
    <ul className={classes["images"]}>
      {images.map((url, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same image may be there twice
        <li key={at}>
          <img src={url} alt={text("image", { number: at + 1 })} />
          {onRemove !== undefined && (
            <IconButton label={text("removeImage", { number: at + 1 })} onClick={() => onRemove(at)}>
              <X size={14} aria-hidden />
            </IconButton>
          )}
        </li>
      ))}
    </ul>
  );
}
