/** Everything behind the A2A interface, put together once it is first wanted: most nodes never load it. */
import type { Context } from '../context.ts'
import type { ownCard } from './cards.ts'
import { Course, type CourseNeeds } from './course.ts'
import { Desk } from './desk.ts'
import { type OwnCallNeeds, OwnCalls } from './own-calls.ts'
import { PushDesk } from './pushes.ts'
import { type Operations, Sending } from './sending.ts'
import { A2aServer, type ServerOptions } from './server.ts'
import { Service } from './service.ts'

export type WorksNeeds = CourseNeeds &
  OwnCallNeeds &
  Pick<Context, 'settings' | 'timings' | 'contacts' | 'random' | 'notices'> &
  Parameters<typeof ownCard>[0]

export class Works {
  readonly #ctx: WorksNeeds
  readonly #course: Course
  readonly #pushes: PushDesk
  readonly #service: Service
  #isFollowing = false

  /** `operations` are those of the node; `isPaidHere`: whether this build takes payments. */
  constructor(ctx: WorksNeeds, operations: Operations, isPaidHere: boolean) {
    const course = new Course(ctx, given => operations.end(given), isPaidHere)
    const ownCalls = new OwnCalls(ctx, course, isPaidHere)
    const sending = new Sending(ctx, { course, operations, ownCalls })
    const desk = new Desk(ctx, { course, operations })
    this.#ctx = ctx
    this.#course = course
    this.#pushes = new PushDesk(ctx, course)
    this.#service = new Service(ctx, { desk, sending, ownCalls, course, pushes: this.#pushes })
  }

  /** Follows what was begun, also while the interface is closed. */
  follow(): void {
    if (this.#isFollowing) return
    this.#isFollowing = true
    this.#course.start()
    this.#pushes.start()
  }

  server(options: Omit<ServerOptions, 'ctx' | 'service' | 'course'>): A2aServer {
    return new A2aServer({ ctx: this.#ctx, service: this.#service, course: this.#course, ...options })
  }

  /** Ends calls to addresses that are called no more. */
  dropPushes(): void {
    this.#pushes.drop()
  }

  /** No new state is told from here on. */
  async rest(): Promise<void> {
    await this.#course.stop()
  }

  async stop(): Promise<void> {
    await this.#pushes.stop()
  }
}
