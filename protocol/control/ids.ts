/** Ids as the control interface writes them. */
import { bytesText } from '../contract/shapes.ts'

/** An interaction id: 16 bytes as base64url. */
export const interactionId = bytesText(
  16,
  'expected an interaction id: 22 characters, as inbox and results list it',
)
