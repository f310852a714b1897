/**
 * Named notes that allowed callers share: read, written where nobody else has written in the meantime, listed, and waited
 * for. They are few and short.
 */

import { utf8Length } from '../../protocol/encoding/bytes.ts'
import { isPlainText } from '../../protocol/encoding/plain-text.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { BlackboardConfig } from '../home/module-config.ts'
import { allNotes, keepNote } from '../store/notes.ts'
import type { Store } from '../store/open.ts'
import {
  type Arguments,
  type CallOutcome,
  type CapabilityCall,
  type Module,
  onlyMembers,
  type Provider,
  ProviderFailed,
  unavailable,
} from './provider.ts'

const WAIT_S_MAX = 30
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
type Note = { version: number; text: string }

export const module: Module | undefined = {
  name: 'blackboard',
  open({ store, timers, config }) {
    return config.blackboard === undefined ? [] : new Blackboard(store, timers, config.blackboard).providers()
  },
}

class Blackboard {
  readonly #store: Store
  readonly #timers: Timers
  readonly #config: BlackboardConfig
  readonly #notes: Map<string, Note>
  #written = Promise.withResolvers<void>()

  constructor(store: Store, timers: Timers, config: BlackboardConfig) {
    this.#store = store
    this.#timers = timers
    this.#config = config
    this.#notes = new Map(allNotes(store).map(({ name, ...note }) => [name, note]))
  }

  providers(): Provider[] {
    const one = (
      name: string,
      summary: string,
      run: (call: CapabilityCall) => CallOutcome | Promise<CallOutcome>,
    ): Provider => ({
      capability: `blackboard.${name}`,
      summary,
      published: false,
      timeoutMs: (WAIT_S_MAX + 5) * 1000,
      trust: { verify: 2, auth: 2 },
      isPrivate: true,
      run: async call => (this.#mayCall(call) ? run(call) : unavailable('this caller is not allowed')),
    })
    return [
      one('list', 'names of the notes, with their versions', ({ args }) => this.#list(args)),
      one('read', 'one note', ({ args }) => this.#read(args)),
      one('write', 'writes a note that is still of the version that is given', ({ args }) =>
        this.#write(args),
      ),
      one('watch', 'waits for a note to be newer than a version', call => this.#watch(call)),
    ]
  }

  #mayCall({ caller }: CapabilityCall): boolean {
    return caller === undefined || this.#config.allow.includes(caller)
  }

  #list(args: Arguments): CallOutcome {
    onlyMembers(args, [])
    const versions = [...this.#notes].map(([name, { version }]) => [name, version] as const)
    const shown = Object.fromEntries(versions.sort(([a], [b]) => (a < b ? -1 : 1)))
    return { status: 'OK', metrics: { notes: versions.length }, observedState: JSON.stringify(shown) }
  }

  #read(args: Arguments): CallOutcome {
    onlyMembers(args, ['name'])
    return show(this.#notes.get(nameOf(args)))
  }

  #write(args: Arguments): CallOutcome {
    onlyMembers(args, ['name', 'text', 'if_version'])
    const { text, if_version: expected = 0 } = args
    const name = nameOf(args)
    if (typeof text !== 'string' || !isPlainText(text)) throw new ProviderFailed('expected text')
    if (utf8Length(text) > this.#config.note_bytes)
      throw new ProviderFailed(`a note holds at most ${this.#config.note_bytes} bytes`)
    const held = this.#notes.get(name)
    const version = held?.version ?? 0
    if (expected !== version)
      throw new ProviderFailed(`the note is of version ${version}, not ${String(expected)}; read it again`)
    if (held === undefined && this.#notes.size >= this.#config.notes)
      throw new ProviderFailed(`there is room for ${this.#config.notes} notes`)
    const note = { version: version + 1, text }
    keepNote(this.#store, { name, ...note })
    this.#notes.set(name, note)
    this.#written.resolve()
    this.#written = Promise.withResolvers()
    return show(note)
  }

  async #watch({ args, signal }: CapabilityCall): Promise<CallOutcome> {
    onlyMembers(args, ['name', 'after_version', 'wait_s'])
    const { after_version: after = 0, wait_s: wait = WAIT_S_MAX } = args
    const name = nameOf(args)
    if (typeof wait !== 'number' || !(wait >= 0 && wait <= WAIT_S_MAX))
      throw new ProviderFailed(`expected wait_s of 0 to ${WAIT_S_MAX}`)
    const time = AbortSignal.any([signal, this.#timers.deadline(wait * 1000)])
    const over = Promise.withResolvers<void>()
    time.addEventListener('abort', () => over.resolve(), { once: true })
    const isNewer = () => (this.#notes.get(name)?.version ?? 0) > Number(after)
    while (!isNewer() && !time.aborted) await Promise.race([this.#written.promise, over.promise])
    return show(this.#notes.get(name))
  }
}

function nameOf({ name }: Arguments): string {
  if (typeof name === 'string' && NAME.test(name)) return name
  throw new ProviderFailed(
    'expected a name of letters, digits, dots, dashes and underscores that starts with a letter or digit, at most 64',
  )
}

const show = (note: Note | undefined): CallOutcome =>
  note === undefined
    ? { status: 'OK', metrics: { version: 0 } }
    : { status: 'OK', metrics: { version: note.version }, observedState: note.text }
