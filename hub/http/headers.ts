/** Reading request headers. */
import type { IncomingHttpHeaders } from 'node:http'

/** `wait` among the preferences of a request (RFC 7240). */
const WAIT = /(?:^|,)\s*wait\s*=\s*([0-9]{1,4})\s*(?:[,;]|$)/i

/** Header names as Node gives them. */
const lowered = new Map<string, string>()

/** One header as text; its name is one of a fixed set. */
export function header(given: IncomingHttpHeaders, name: string): string | undefined {
  let key = lowered.get(name)
  if (key === undefined) {
    key = name.toLowerCase()
    lowered.set(name, key)
  }
  const value = given[key]
  return Array.isArray(value) ? value.join(',') : value
}

/** Whether a request names more than one host, of which others may have read another one. */
export function hasManyHosts(raw: readonly string[]): boolean {
  let hosts = 0
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}

/** How many seconds a client wants to wait for its answer; 0 where it does not say. */
export function preferredWait(given: IncomingHttpHeaders): number {
  return Number(WAIT.exec(header(given, 'prefer') ?? '')?.[1] ?? 0)
}

/** Types that HTTP libraries put in where nobody said what a body is. */
const UNSAID: ReadonlySet<string> = new Set([
  '',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'text/plain',
])

/** Whether a body of this type may be JSON: its type says so, or says nothing. */
export function mayBeJson(type: string | undefined): boolean {
  return type === undefined || UNSAID.has(type) || /^(?:application|text)\/json$|\+json$/.test(type)
}

/** What a content type means: case and parameters say nothing more. */
export function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';')[0]?.trim().toLowerCase()
}
