/** Requests and threads for tests of the auto-reply. */
import { randomBytes } from 'node:crypto'
import type { BackendRequest } from './backend.ts'

export const random = (length: number) => new Uint8Array(randomBytes(length))

export function requestOf(text: string, more: Partial<BackendRequest> = {}): BackendRequest {
  return {
    interactionId: 'i1',
    peer: 'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    peerName: 'alice',
    turns: [{ role: 'peer', text, attachments: [] }],
    systemPrompt: undefined,
    ...more,
  }
}
