/** For tests: whether a call of S3 is signed with a key, read from the specification of version 4 and not from our signer. */
import { createHash, createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const SIGNED =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
const hex = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')
const keyed = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

export type SignedCall = { method: string; target: string; headers: IncomingHttpHeaders; body: Uint8Array }

/** The code under which a store refuses a call; undefined for one that is as it was signed. */
export function refusedAs(
  { method, target, headers, body }: SignedCall,
  { accessKeyId, secretAccessKey }: { accessKeyId: string; secretAccessKey: string },
): string | undefined {
  const [, id, day = '', region = '', names = '', signature] = SIGNED.exec(headers.authorization ?? '') ?? []
  if (id !== accessKeyId) return 'InvalidAccessKeyId'
  const digest = String(headers['x-amz-content-sha256'])
  if (digest !== hex(body)) return 'XAmzContentSHA256Mismatch'
  const url = new URL(target, 'http://store')
  const query = [...url.searchParams].map(pair => pair.map(encoded).join('=')).sort()
  const path = decodeURIComponent(url.pathname).split('/').map(encoded).join('/')
  const lines = names.split(';').map(name => `${name}:${String(headers[name]).trim()}\n`)
  const canonical = [method, path, query.join('&'), lines.join(''), names, digest].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hex(canonical)].join('\n')
  const key = [region, 's3', 'aws4_request'].reduce(keyed, keyed(`AWS4${secretAccessKey}`, day))
  return keyed(key, text).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch'
}
