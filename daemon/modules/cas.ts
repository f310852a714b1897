/**
 * Content by its id: `cas.put`, `cas.get` and `cas.has`. What is stored is read back and hashed before it is claimed, and
 * again before it is given out; each caller has a quota, and all of them one.
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { cidText, contentId, parseCid } from '../../protocol/crypto/hash.ts'
import { equal, fromBase64, Malformed, toBase64 } from '../../protocol/encoding/bytes.ts'
import type { CasConfig } from '../home/module-config.ts'
import { ensureSecretDirectory, findFile, replaceFile } from '../platform/files.ts'
import {
  type Arguments,
  type CallOutcome,
  type CapabilityCall,
  type Module,
  onlyMembers,
  type Provider,
  ProviderFailed,
} from './provider.ts'

/** What goes into one message as base64. */
const CONTENT_BYTES_MAX = 384 * 1024
const OWNER = 'owner'
const MEDIA_TYPE = /^[\w.+-]{1,63}\/[\w.+-]{1,63}$/

export const module: Module | undefined = {
  name: 'cas',
  open({ dir, config }) {
    return config.cas === undefined ? [] : new Cas(join(dir, 'cas'), config.cas).providers()
  },
}

class Cas {
  readonly #folder: string
  readonly #limits: CasConfig

  constructor(folder: string, limits: CasConfig) {
    this.#folder = folder
    this.#limits = limits
    ensureSecretDirectory(folder)
  }

  providers(): Provider[] {
    const one = (name: string, summary: string, run: (call: CapabilityCall) => CallOutcome): Provider => ({
      capability: `cas.${name}`,
      summary,
      published: true,
      timeoutMs: 30_000,
      trust: { verify: 2, auth: 2 },
      run: async call => run(call),
    })
    return [
      one('put', 'stores content, named by its id', call => this.#put(call)),
      one('get', 'gives content back by its id', call => this.#get(call)),
      one('has', 'says whether content is stored', call => this.#has(call)),
    ]
  }

  #put({ args, caller }: CapabilityCall): CallOutcome {
    onlyMembers(args, ['content', 'media_type'])
    const content = contentOf(args)
    const mediaType = args['media_type'] ?? 'application/octet-stream'
    if (typeof mediaType !== 'string' || !MEDIA_TYPE.test(mediaType))
      throw new ProviderFailed('expected a media type such as text/plain')
    const cid = contentId(content)
    const folder = join(this.#folder, caller ?? OWNER)
    const path = join(folder, cidText(cid))
    if (!fs.existsSync(path)) this.#store(folder, path, content)
    if (!equal(contentId(findFile(path) ?? new Uint8Array()), cid))
      throw new ProviderFailed('what was stored does not read back')
    const artifact = { path: 'content', contentCid: cid, mediaType, sizeBytes: content.length }
    // an empty one is not attached
    const artifacts = content.length === 0 ? [] : [artifact]
    return { status: 'OK', metrics: { size_bytes: content.length }, artifacts, observedState: cidText(cid) }
  }

  #store(folder: string, path: string, content: Uint8Array): void {
    const held = sizeOf(folder)
    if (held + content.length > this.#limits.bytes_per_caller)
      throw new ProviderFailed(
        `your quota is ${this.#limits.bytes_per_caller} bytes, of which ${held} are used`,
      )
    const all = folders(this.#folder).reduce((sum, name) => sum + sizeOf(join(this.#folder, name)), 0)
    if (all + content.length > this.#limits.bytes) throw new ProviderFailed('there is no room for more')
    ensureSecretDirectory(folder)
    replaceFile(path, content)
  }

  #get({ args }: CapabilityCall): CallOutcome {
    const { cid, bytes } = this.#find(args)
    if (bytes === undefined) throw new ProviderFailed('there is no such content here')
    const artifact = { path: 'content', contentCid: cid, sizeBytes: bytes.length }
    return {
      status: 'OK',
      metrics: { size_bytes: bytes.length },
      artifacts: bytes.length === 0 ? [] : [artifact],
      observedState: toBase64(bytes),
    }
  }

  #has({ args }: CapabilityCall): CallOutcome {
    const { bytes } = this.#find(args)
    return { status: 'OK', metrics: { has: bytes === undefined ? 0 : 1 } }
  }

  /** Content whoever stored it, whose bytes still are what its id says. */
  #find(args: Arguments): { cid: Uint8Array; bytes: Uint8Array | undefined } {
    onlyMembers(args, ['cid'])
    const cid = cidOf(args)
    for (const name of folders(this.#folder)) {
      const bytes = findFile(join(this.#folder, name, cidText(cid)))
      if (bytes !== undefined && equal(contentId(bytes), cid)) return { cid, bytes }
    }
    return { cid, bytes: undefined }
  }
}

function contentOf({ content }: Arguments): Uint8Array {
  if (typeof content !== 'string') throw new ProviderFailed('expected content as base64')
  try {
    const bytes = fromBase64(content, 'content')
    if (bytes.length <= CONTENT_BYTES_MAX) return bytes
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw new ProviderFailed('expected content as base64')
  }
  throw new ProviderFailed(`content is larger than ${CONTENT_BYTES_MAX} bytes; send it as a file of a task`)
}

function cidOf({ cid }: Arguments): Uint8Array {
  try {
    return parseCid(typeof cid === 'string' ? cid : '')
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw new ProviderFailed('expected a content id, such as bafkrei…')
  }
}

const folders = (path: string): string[] => fs.readdirSync(path)
const sizeOf = (folder: string): number =>
  fs.existsSync(folder)
    ? folders(folder).reduce((sum, name) => sum + fs.statSync(join(folder, name)).size, 0)
    : 0
