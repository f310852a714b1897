/** Attachment links: unguessable, expiring, and never shown inline by a browser. */
import * as fs from 'node:fs'
import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { equalSecret, hmacSha256 } from '#crypto'
import { toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import type { Context } from '../context.ts'

type Needs = Pick<Context, 'attachments' | 'now'>

export const LINK_LIFE_MS = 10 * 60_000

function linkProof(token: string, cid: string, expiresAt: number): string {
  return toBase64url(hmacSha256(utf8(token), utf8(`svc-attachment\0${cid}\0${expiresAt}`)))
}

/** Path of a link to an attachment of this node. */
export function attachmentLink(token: string, cid: string, now: number): string {
  const expiresAt = now + LINK_LIFE_MS
  return `/attachment?cid=${cid}&exp=${expiresAt}&cap=${linkProof(token, cid, expiresAt)}`
}

export function serveAttachment(ctx: Needs, token: string, url: URL, response: ServerResponse): void {
  const cid = url.searchParams.get('cid') ?? ''
  const expiresAt = Number(url.searchParams.get('exp'))
  const given = utf8(url.searchParams.get('cap') ?? '')
  const proven = equalSecret(given, utf8(linkProof(token, cid, expiresAt))) && ctx.now() < expiresAt
  const path = proven && /^b[a-z2-7]+$/.test(cid) ? ctx.attachments.find(cid) : undefined
  if (path === undefined) {
    response
      .writeHead(404, { 'Content-Type': 'text/plain' })
      .end('no such attachment, or the link has expired\n')
    return
  }
  const file = fs.createReadStream(path)
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': fs.statSync(path).size,
    'Content-Disposition': 'attachment',
    'Content-Security-Policy': "sandbox; default-src 'none'",
  })
  // A client that goes away, or a file that cannot be read to its end, ends both streams and nothing else.
  pipeline(file, response, () => undefined)
}
