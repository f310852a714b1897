/**
 * The files of one folder over HTTP. Their names are read once: a request only looks its path up among them, so none
 * leads out of the folder. Hidden files, symbolic links and kinds of file that no site of ours has are not among them.
 */
import { constants, type Dirent, readdirSync, realpathSync } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

const FILES_MAX = 5000
const DEPTH_MAX = 8
const FILE_BYTES_MAX = 32 * 1024 * 1024
/** So much of a file is held for each answer under way. */
const CHUNK_BYTES = 64 * 1024
/** A link that took the place of a file is not followed; a pipe that did is not waited for. */
const PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/** A picture that is opened as a page of its own may draw and do nothing else. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

type Opened = { file: FileHandle; bytes: number; etag: string }

export class StaticFolder {
  readonly #root: string
  readonly #places: ReadonlySet<string>

  private constructor(root: string, places: ReadonlySet<string>) {
    this.#root = root
    this.#places = places
  }

  /** Reads the names in a folder; throws what the system says where it can't, and a RangeError where there are too many. */
  static open(folder: string): StaticFolder {
    const root = realpathSync(folder)
    const places = new Set<string>()
    for (const place of filesIn(root, '', 1)) {
      places.add(place)
      if (places.size > FILES_MAX) throw new RangeError(`more than ${FILES_MAX} files`)
    }
    return new StaticFolder(root, places)
  }

  has(place: string): boolean {
    return this.#places.has(place)
  }

  /** Answers GET or HEAD of a path as it came, relative to the folder; false where no file has it. */
  async send(path: string, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const place = this.#placeOf(path)
    const opened = place === undefined ? undefined : await this.#open(place)
    if (place === undefined || opened === undefined) return false
    try {
      await answer(place, opened, request, response)
    } finally {
      await opened.file.close()
    }
    return true
  }

  #placeOf(path: string): string | undefined {
    try {
      const named = decodeURIComponent(path)
      const place = named === '' || named.endsWith('/') ? `${named}index.html` : named
      return this.#places.has(place) ? place : undefined
    } catch {
      return undefined
    }
  }

  /** The file as it is now; undefined where something else has taken its place, or a folder of its path. */
  async #open(place: string): Promise<Opened | undefined> {
    const path = join(this.#root, place)
    const file = await realpath(path)
      .then(real => (real === path ? open(path, PLAIN) : undefined))
      .catch(() => undefined)
    if (file === undefined) return undefined
    const stats = await file.stat({ bigint: true })
    if (stats.isFile() && stats.size <= FILE_BYTES_MAX)
      return {
        file,
        bytes: Number(stats.size),
        etag: `"${stats.size.toString(36)}-${stats.mtimeNs.toString(36)}"`,
      }
    await file.close()
    return undefined
  }
}

/** The files to be served, with their folders; a link is neither a file nor a folder here. */
function* filesIn(root: string, within: string, depth: number): Generator<string> {
  for (const entry of readdirSync(join(root, within), { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue
    const place = within === '' ? entry.name : `${within}/${entry.name}`
    if (isServed(entry)) yield place
    else if (entry.isDirectory() && depth < DEPTH_MAX) yield* filesIn(root, place, depth + 1)
  }
}

const isServed = (entry: Dirent): boolean => entry.isFile() && extname(entry.name) in types

async function answer(
  place: string,
  { file, bytes, etag }: Opened,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isPicture = place.endsWith('.svg')
  const headers = {
    'Content-Security-Policy': isPicture ? PICTURE_POLICY : PAGE_POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    // kept by browsers, and asked for again each time: the answer is then 304
    'Cache-Control': 'no-cache',
    ETag: etag,
  }
  if (isKnown(request.headers['if-none-match'], etag)) return void response.writeHead(304, headers).end()
  response.writeHead(200, {
    ...headers,
    'Content-Type': types[extname(place)],
    'Content-Length': String(bytes),
  })
  if (request.method === 'HEAD' || bytes === 0) return void response.end()
  const stream = file.createReadStream({
    start: 0,
    end: bytes - 1,
    highWaterMark: CHUNK_BYTES,
    autoClose: false,
  })
  // The client may go; then nobody is left to be told.
  await pipeline(stream, response).catch(() => response.destroy())
}

/** Whether a client holds this version (RFC 9110 section 13.1.2); a weak mark counts like a strong one. */
function isKnown(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false
  return given.trim() === '*' || given.split(',').some(one => one.trim().replace(/^W\//, '') === etag)
}
