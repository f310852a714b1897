/**
 * How a server shows that it holds the control token without saying it: a keyed hash over the asker's nonce. The address
 * is part of it, so that nobody can pass on what the node itself answers elsewhere.
 */

import { toHex } from '../../protocol/encoding/bytes.ts'
import { systemRandom } from '../platform/random.ts'

const NONCE_BYTES = 16
export const NONCE = /^[0-9a-f]{32,128}$/

// asked of the runtime by name: a command that never asks for a proof does not load its cryptography
const crypto = () => process.getBuiltinModule('node:crypto')

export const newNonce = (): string => toHex(systemRandom(NONCE_BYTES))

export function proofOf(token: string, address: string, nonce: string): string {
  return crypto().createHmac('sha256', token).update(`svc control\n${address}\n${nonce}`).digest('hex')
}
