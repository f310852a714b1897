/** The refusal of a configuration, and a setting with the place where it was written. */
import { Refusal } from '../protocol/encoding/errors.ts'

/** The hub can't start as it is configured; the sentence says what to change. */
export class ConfigRefused extends Refusal<'config'> {
  override name = 'ConfigRefused'
  /** What is wrong, and what to do about it. */
  readonly found: string
  readonly next: string
  constructor(found: string, next: string) {
    super('config', `${found}; ${next}`)
    this.found = found
    this.next = next
  }
}

/** An address that can't be listened on now; another try may find it free, or the network up. */
export class AddressRefused extends ConfigRefused {
  override name = 'AddressRefused'
}

/** A setting as text, and where it was written, so that a refusal can name the place; `file` where that is a file. */
export type Given = { text: string; from: string; file?: string | undefined }
