/** Attachment links: unguessable, expiring, and never shown inline by a browser. */
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { equalSecret, hmacSha256 } from '#crypto'
import { toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { systemCode } from '../../protocol/encoding/errors.ts'
import type { Attachments } from '../attachments/attachments.ts'
import { refuse } from '../refusal.ts'
import type { Store } from '../store/open.ts'
import type { Interaction } from '../store/threads.ts'
import { hasFile } from '../store/transcripts.ts'
import type { Reply } from './exchange.ts'

export const LINK_LIFE_MS = 10 * 60_000

function linkProof(token: string, cid: string, expiresAt: number): string {
  return toBase64url(hmacSha256(utf8(token), utf8(`svc-attachment\0${cid}\0${expiresAt}`)))
}

/** Path of a link to an attachment of this node. */
export function attachmentLink(token: string, cid: string, expiresAt: number): string {
  return `/attachment?cid=${cid}&exp=${expiresAt}&cap=${linkProof(token, cid, expiresAt)}`
}

export class AttachmentLinks {
  readonly #store: Store
  readonly #attachments: Attachments
  readonly #token: string
  readonly #now: () => number

  constructor(parts: { store: Store; attachments: Attachments; token: string; now: () => number }) {
    this.#store = parts.store
    this.#attachments = parts.attachments
    this.#token = parts.token
    this.#now = parts.now
  }

  /** A link to what a task brought; to nothing else that this node keeps. */
  to(interaction: Pick<Interaction, 'key'>, cid: string): { path: string; expires_at: number } {
    if (!hasFile(this.#store, interaction.key, cid))
      refuse('file_unreadable', 'this task has no such attachment')
    if (this.#attachments.find(cid) === undefined)
      refuse('file_unreadable', 'the content of this attachment is not here yet')
    const expiresAt = this.#now() + LINK_LIFE_MS
    return { path: attachmentLink(this.#token, cid, expiresAt), expires_at: expiresAt }
  }

  /** Answers with the file of a link. */
  async serve(url: URL, response: Reply): Promise<void> {
    const cid = url.searchParams.get('cid') ?? ''
    const expiresAt = Number(url.searchParams.get('exp'))
    const given = utf8(url.searchParams.get('cap') ?? '')
    const proven = equalSecret(given, utf8(linkProof(this.#token, cid, expiresAt))) && this.#now() < expiresAt
    const path = proven && /^b[a-z2-7]+$/.test(cid) ? this.#attachments.find(cid) : undefined
    const file = path === undefined ? undefined : await opened(path)
    if (file === undefined) {
      response
        .writeHead(404, { 'Content-Type': 'text/plain' })
        .end('no such attachment, or the link has expired\n')
      return
    }
    if (response.destroyed) return file.handle.close()
    response.writeHead(200, {
      'Content-Type': 'application/octet-stream',
      'Content-Length': file.size,
      'Content-Disposition': 'attachment',
      'Content-Security-Policy': "sandbox; default-src 'none'",
    })
    // A client that goes away, or a file that cannot be read to its end, ends both streams and nothing else.
    pipeline(file.handle.createReadStream(), response, () => undefined)
  }
}

/** A file can go between its finding and this. */
async function opened(path: string): Promise<{ handle: FileHandle; size: number } | undefined> {
  const handle = await open(path).catch(ifGone)
  if (handle === undefined) return undefined
  try {
    return { handle, size: (await handle.stat()).size }
  } catch (error) {
    await handle.close()
    throw error
  }
}

function ifGone(error: unknown): undefined {
  if (systemCode(error) !== 'ENOENT') throw error
}
