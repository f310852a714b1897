/** What the first question to an address shows where no hub of this wire answers it. */
import { sayNoHubOf } from '../contract/no-hub.ts'
import { codes } from './codes.ts'

/** Says that `url` is no hub, or how it is to be written; undefined where it may be one that does not answer now. */
export const sayNoHub = (error: unknown, url: string): string | undefined =>
  sayNoHubOf(error, url, code => Object.hasOwn(codes, code))
