import { Toast } from "@base-ui/react/toast";

/** Between those who tell something and the place where toasts appear. */
export const toastManager = Toast.createToastManager();

const place = Promise.withResolvers<void>();

/** Resolves once there is a place where toasts appear: what is told before it would be lost. */
export const toastsReady: Promise<void> = place.promise;

/** Says that the place is there. */
export const toastsAreReady = (): void => place.resolve();
