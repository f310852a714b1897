/** Listings of an S3-compatible store: names that stand there, and uploads that nobody ended. */
import type { S3Calls } from './s3-calls.ts'

export type Listed = { name: string; modifiedMs: number }

const PAGE_MAX = 1000
const ENTRY = /<Contents>([\s\S]*?)<\/Contents>/g
const KEY = /<Key>([^<]*)<\/Key>/
const MODIFIED = /<LastModified>([^<]*)<\/LastModified>/
const NEXT = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/
const UPLOAD = /<Upload>([\s\S]*?)<\/Upload>/g
const UPLOAD_ID = /<UploadId>([^<]*)<\/UploadId>/
const INITIATED = /<Initiated>([^<]*)<\/Initiated>/
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** What an element holds; undefined where there is none. */
export const textIn = (xml: string, element: RegExp): string | undefined =>
  element.exec(xml)?.[1]?.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '')

/** All that begin with this, some at a time. */
export async function* listed(calls: S3Calls, prefix: string, folder: string): AsyncGenerator<Listed[]> {
  const begin = `${prefix}${folder}`
  let token: string | undefined
  do {
    const query = { 'list-type': '2', prefix: begin, 'max-keys': String(PAGE_MAX) }
    const { text } = await calls.answer({
      method: 'GET',
      query: token === undefined ? query : { ...query, 'continuation-token': token },
    })
    yield [...text.matchAll(ENTRY)].flatMap(([, entry = '']) => {
      const name = textIn(entry, KEY)?.slice(begin.length)
      return name === undefined ? [] : [{ name, modifiedMs: timeIn(entry, MODIFIED) }]
    })
    token = textIn(text, NEXT)
  } while (token !== undefined)
}

/** Uploads of many parts that began and did not end; none where the store lists none. */
export async function unended(
  calls: S3Calls,
  prefix: string,
  folder: string,
): Promise<{ key: string; upload: string; beganMs: number }[]> {
  const { text } = await calls.answer({ method: 'GET', query: { uploads: '', prefix: `${prefix}${folder}` } })
  return [...text.matchAll(UPLOAD)].flatMap(([, entry = '']) => {
    const [key, upload] = [textIn(entry, KEY)?.slice(prefix.length), textIn(entry, UPLOAD_ID)]
    return key === undefined || upload === undefined
      ? []
      : [{ key, upload, beganMs: timeIn(entry, INITIATED) }]
  })
}

/** What has no time is as young as can be. */
const timeIn = (entry: string, element: RegExp): number =>
  Date.parse(textIn(entry, element) ?? '') || Number.MAX_SAFE_INTEGER
