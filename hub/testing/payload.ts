/** Payloads of letters as the core is given them. */
import { sha256 } from '../../protocol/crypto/engine.node.ts'
import type { Payload } from '../core/open-mail/letter-files.ts'

/** A short payload in memory. */
export const payloadOf = (content: Uint8Array): Payload => ({
  ...{ size: content.length, digest: sha256(content), content, file: undefined },
})
