/** Puts presses, the view and effects together, and says when there is a new frame. One for each terminal. */
import { dueLesson } from '../view/lessons.ts'
import { Live } from '../view/live.ts'
import { screens } from '../view/rows.ts'
import { type Around, Effects, type Terminal } from './effects.ts'
import { type Frame, frameOf } from './frame.ts'
import type { Host } from './host.ts'
import { layoutOf } from './layout.ts'
import { type Composer, firstModel, type Model, type Size } from './model.ts'
import type { Mouse } from './mouse.ts'
import { pointed } from './on-mouse.ts'
import { painted } from './paint.ts'
import type { Press } from './press.ts'
import { readerFrame } from './reader.ts'
import { RowCache } from './rows.ts'
import { paneOf, type Scene, type Step, toast } from './scene.ts'
import { asciiLine } from './signs.ts'
import { stilled } from './still.ts'
import { placeOf, pressed, settled } from './update.ts'
import { pasted } from './writing.ts'

/** The note that the ways on were offered. */
const WAYS = 'ways'
const TICK_MS = 1_000
/** Where nothing counts by the second. */
const STILL_TICK_MS = 10_000
/** A row that was only passed by is not looked into. */
const PEEK_AFTER_MS = 150
const KEPT_AFTER_MS = 700

export type Drawn = { readonly text: string; readonly cursor: Frame['cursor'] }
export type Ways = {
  readonly colours: boolean
  readonly isReader: boolean
  readonly hasMouse: boolean
  /** The terminal has no more than ASCII. */
  readonly isAscii: boolean
  /** Nothing moves but what a key or the node moves. */
  readonly isStill: boolean
  /** The terminal has not taken yet what was written; frames wait until it has. */
  readonly isBusy: () => boolean
}

export class Driver {
  readonly live: Live
  #model: Model
  #drawn: Drawn | undefined
  /** The lines that are seen. */
  #lines: Frame['lines'] = []
  #peeked: string | undefined
  #peek: NodeJS.Timeout | undefined
  #kept: Composer | undefined
  #keep: NodeJS.Timeout | undefined
  #rows: readonly string[] = []
  /** Where it begins is decided. */
  #hasBegun = false
  readonly #cache = new RowCache()
  readonly #effects: Effects
  readonly #host: Host
  readonly #ways: Ways
  readonly #listeners = new Set<() => void>()
  readonly #tick: NodeJS.Timeout

  constructor(host: Host, terminal: Terminal, ways: Ways, size: Size) {
    this.#host = host
    this.#ways = ways
    this.#model = {
      ...firstModel(size),
      drafts: new Set(host.drafts.names()),
      lessons: host.notes.read(),
      isReader: ways.isReader,
      hasMouse: ways.hasMouse,
      isAscii: ways.isAscii,
      isNew: host.isNew,
      isWelcome: host.isNew,
    }
    this.live = new Live(host.node, {
      now: host.now,
      random: Math.random,
      after: (ms, then) => {
        const timer = setTimeout(then, ms)
        return () => clearTimeout(timer)
      },
    })
    const around: Around = {
      host,
      live: this.live,
      terminal,
      model: () => this.#model,
      change: change => this.#show(change(this.#model)),
    }
    this.#effects = new Effects(around)
    this.live.subscribe(() => this.#show(this.#model))
    this.#tick = setInterval(() => this.#pass(), ways.isStill ? STILL_TICK_MS : TICK_MS)
    void this.live.run()
  }

  stop(): void {
    clearInterval(this.#tick)
    clearTimeout(this.#peek)
    clearTimeout(this.#keep)
    const { composer } = this.#model
    if (composer !== undefined) void this.#effects.run({ type: 'keep_draft', composer })
    this.live.stop()
    this.#listeners.clear()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The same value as long as nothing that is seen has changed. */
  readonly drawn = (): Drawn => {
    this.#drawn ??= this.#draw()
    return this.#drawn
  }

  get model(): Model {
    return this.#model
  }

  press(presses: readonly Press[]): void {
    this.#hasBegun = true
    this.#effects.drafts.lookAgain()
    for (const press of presses) this.#take(pressed(this.#scene(), press))
    this.#show(this.#model)
  }

  point(mouse: Mouse): void {
    if (!this.#model.hasMouse) return
    this.#hasBegun = true
    this.#take(pointed(this.#scene(), this.#lines, mouse))
    this.#show(this.#model)
  }

  #take({ model, effects }: Step): void {
    this.#model = this.#settle(model)
    for (const effect of effects) void this.#effects.run(effect)
  }

  paste(text: string): void {
    this.#effects.drafts.lookAgain()
    this.#take(pasted(this.#scene(), text))
    this.#show(this.#model)
  }

  resize(size: Size): void {
    const { columns, rows } = this.#model.size
    if (columns !== size.columns || rows !== size.rows) this.#show({ ...this.#model, size })
  }

  #scene(): Scene {
    return { model: this.#model, view: this.live.view, cache: this.#cache, now: this.#host.now() }
  }

  #settle(model: Model): Model {
    return settled({ ...this.#scene(), model }, model.screen === this.#model.screen ? this.#rows : [])
  }

  #show(model: Model): void {
    const next = this.#settle(this.#taught(this.#begun(this.#wayOn(model))))
    this.#model = next
    this.#rows = this.#cache.rows(next, this.live.view).ids
    this.#lookInto()
    this.#keepDraft()
    this.#tell()
  }

  /** Nobody is new here once a node answers, and no way on is offered to a node at a hub. */
  #wayOn(model: Model): Model {
    const { status } = this.live.view
    if (status === undefined || !(model.isNew || model.isWelcome)) return model
    return { ...model, isNew: false, isWelcome: model.isWelcome && status.hub === null }
  }

  /** Who was handed nothing and has delegated begins where there is something to see. */
  #begun(model: Model): Model {
    const { received, sent } = this.live.view.lists
    if (this.#hasBegun || !received.loaded || !sent.loaded) return model
    this.#hasBegun = true
    const sides = [...this.live.view.interactions.values()].map(({ side }) => side)
    return sides.length > 0 && !sides.includes('received') ? { ...model, screen: 'sent' } : model
  }

  /** What is said once: the ways on of a node without a hub, and a line about what comes up for the first time. */
  #taught(model: Model): Model {
    const { view } = this.live
    const place = placeOf(model)
    const isOffered = view.status?.hub === null && !model.lessons.includes(WAYS)
    if (place === 'welcome' && isOffered) return this.#noted(model, WAYS)
    if (!(screens as readonly string[]).includes(place) || view.status === undefined) return model
    if (isOffered) return this.#noted({ ...model, isWelcome: true, toast: undefined }, WAYS)
    if (model.toast !== undefined) return model
    const lesson = dueLesson(view, model.lessons)
    return lesson === undefined ? model : this.#noted(toast(model, lesson.says, 'wait'), lesson.name)
  }

  #noted(model: Model, name: string): Model {
    const lessons = [...model.lessons, name]
    try {
      this.#host.notes.write(lessons)
    } catch {
      // on a full disk it is said once more the next time
    }
    return { ...model, lessons }
  }

  /** A draft is on the disk a moment after it was written: a terminal may be closed at any time. */
  #keepDraft(): void {
    const { composer } = this.#model
    if (composer === this.#kept || composer === undefined || composer.isSending) return
    this.#kept = composer
    clearTimeout(this.#keep)
    this.#keep = setTimeout(() => {
      if (this.#model.composer === composer) void this.#effects.run({ type: 'keep_draft', composer })
    }, KEPT_AFTER_MS)
  }

  /** Beside the list stands the conversation of the row on which the selection rests. */
  #lookInto(): void {
    const { screen, thread } = this.#model
    const isTasks = screen === 'inbox' || screen === 'sent'
    const wanted =
      thread?.id ??
      (isTasks && layoutOf(this.#model, this.live.view, 0).isWide ? paneOf(this.#model).selected : undefined)
    const peeked = thread === undefined ? wanted : `open ${thread.id}`
    if (peeked === this.#peeked) return
    this.#peeked = peeked
    clearTimeout(this.#peek)
    if (wanted === undefined || thread !== undefined) return
    this.#peek = setTimeout(() => void this.live.openThread(wanted, false), PEEK_AFTER_MS)
  }

  /** A while later: ages and countdowns, and how far a registration is. */
  #pass(): void {
    const isRegistering = this.live.view.status?.hub?.state === 'registering'
    if (isRegistering || this.#model.output?.isRunning === true) this.live.refreshStatus()
    this.#tell()
  }

  #draw(): Drawn {
    const scene = this.#ways.isStill ? stilled(this.#scene()) : this.#scene()
    const frame = this.#ways.isReader ? readerFrame(scene) : frameOf(scene)
    const lines = this.#ways.isAscii ? frame.lines.map(asciiLine) : frame.lines
    this.#lines = lines
    return { text: painted(lines, this.#ways.colours), cursor: frame.cursor }
  }

  /** The terminal takes frames again. */
  readonly drawAnew = (): void => this.#tell()

  #tell(): void {
    if (this.#ways.isBusy()) return
    const before = this.#drawn
    const next = this.#draw()
    const isSame =
      before?.text === next.text && before.cursor?.x === next.cursor?.x && before.cursor?.y === next.cursor?.y
    if (isSame) return
    this.#drawn = next
    for (const listener of this.#listeners) listener()
  }
}
