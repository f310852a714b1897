/** The A2A interface of a node without its server. */
import { Course } from '../../daemon/a2a/course.ts'
import { Desk } from '../../daemon/a2a/desk.ts'
import { type OwnCallNeeds, OwnCalls } from '../../daemon/a2a/own-calls.ts'
import { PushDesk } from '../../daemon/a2a/pushes.ts'
import { Sending } from '../../daemon/a2a/sending.ts'
import { Service } from '../../daemon/a2a/service.ts'
import type { Context } from '../../daemon/context.ts'
import { taskOperations } from '../../daemon/control/task-operations.ts'
import type { Payer } from '../../daemon/payments/payer.ts'
import { unfinishedA2aTasks } from '../../daemon/store/a2a.ts'
import type { JsonValue } from '../../protocol/encoding/json.ts'

const never = new AbortController().signal

export class A2a {
  readonly pushes: PushDesk
  readonly #course: Course
  readonly #service: Service

  readonly #store: Context['store']

  constructor(ctx: Context & { modules: OwnCallNeeds['modules'] & { list(): [] } }, payer: Payer) {
    const reviews = { firstAnswer: async () => {} }
    const node = taskOperations(ctx, { token: '', reviews, payer })
    this.#store = ctx.store
    const operations = {
      delegate: (given: Parameters<typeof node.delegate>[0]) => node.delegate(given, never),
      message: (given: Parameters<typeof node.message>[0]) => node.message(given, never),
      end: (given: Parameters<typeof node.end>[0]) => node.end(given, never),
      cancel: (given: Parameters<typeof node.cancel>[0]) => node.cancel(given, never),
    }
    const course = new Course(ctx, given => operations.end(given), true)
    const ownCalls = new OwnCalls(ctx, course, true)
    const desk = new Desk(ctx, { course, operations })
    const sending = new Sending(ctx, { course, operations, ownCalls })
    this.#course = course
    this.pushes = new PushDesk(ctx, course)
    this.#service = new Service(ctx, { desk, sending, ownCalls, course, pushes: this.pushes })
    course.start()
  }

  async call(name: Parameters<Service['call']>[0], agent: string, params: JsonValue): Promise<object> {
    const outcome = await this.#service.call(name, params, {
      tenant: agent,
      base: 'http://a2a.test',
      lastEventId: undefined,
      means: { payment: undefined, isExtended: false },
      signal: never,
      authority: never,
    })
    return 'reply' in outcome ? outcome.reply : {}
  }

  /** What its loop does by the clock. */
  look(): void {
    for (const { key } of unfinishedA2aTasks(this.#store)) this.#course.look(key)
  }

  async stop(): Promise<void> {
    await this.#course.stop()
    await this.pushes.stop()
  }
}
