/** Operations on capabilities that the node serves itself. */
import * as z from 'zod'
import { capTag } from '../contract/shapes.ts'
import { LONG_MS, operation } from './operation.ts'

/** Rows of `/capabilities` and below it; docs/operations.md has their members and codes. */
export const capabilityOperations = {
  capabilityList: operation('/capabilities', {
    method: 'GET',
    reads: true,
    reply: z.strictObject({
      /** Modules of this build. */
      modules: z.array(z.string()),
      capabilities: z.array(
        z.strictObject({
          capability: z.string(),
          module: z.string(),
          summary: z.string(),
          /** Whether it is named in the directory. */
          published: z.boolean(),
          /** Credits for a call. */
          price: z.int().min(1).optional(),
        }),
      ),
    }),
  }),
  capabilityTest: operation('/capabilities/test', {
    reads: false,
    timeoutMs: LONG_MS,
    request: z.strictObject({ capability: capTag, args: z.record(z.string(), z.json()).optional() }),
    /** The effect as a caller would get it. */
    reply: z.looseObject({ status: z.string(), message: z.string() }),
    codes: ['bad_request'],
  }),
} as const
