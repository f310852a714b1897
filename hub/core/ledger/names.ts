/** Accounts and transfers by name: whose credits, and under which id something is posted once for ever. */
import { sha256 } from '../../../protocol/crypto/engine.node.ts'
import { cidText } from '../../../protocol/crypto/hash.ts'
import { toHex, utf8 } from '../../../protocol/encoding/bytes.ts'
import type { AccountName } from '../../store/ledger-port.ts'

export const ISSUE: AccountName = { kind: 'issue', name: '' }
export const RETIRED: AccountName = { kind: 'retired', name: '' }
export const agentAccount = (aid: string): AccountName => ({ kind: 'agent', name: aid })
export const peerAccount = (aid: string): AccountName => ({ kind: 'peer', name: aid })
export const heldAccount = (transaction: Uint8Array): AccountName => ({
  kind: 'held',
  name: toHex(transaction),
})

/** Ids that are no transaction are kept as a hash: an AID in one stands nowhere but in its account. */
const hashed = (id: string): Uint8Array => sha256(utf8(id))
export const trialId = (aid: string): Uint8Array => hashed(`trial:${aid}`)
export const grantId = (command: Uint8Array): Uint8Array => hashed(`grant:${toHex(command)}`)
/** Of what came back with a record of the supply chain. */
export const returnedId = (record: Uint8Array): Uint8Array => hashed(`returned:${cidText(record)}`)
/** Of a debt that was paid: each statement of a creditor has its number. */
export const clearId = (creditor: string, number: number): Uint8Array => hashed(`clear:${creditor}:${number}`)
export const endId = (transaction: Uint8Array): Uint8Array => hashed(`end:${cidText(transaction)}`)
