/** Which messages of a client are taken: by the schemas of the protocol, before the SDK sees them. */
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  InitializeRequestSchema,
  JSONRPCErrorResponseSchema,
  JSONRPCMessageSchema,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  JSONRPCResultResponseSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/core'
import type * as z from 'zod'
import { faultOf } from '../protocol/contract/fault.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import type { Judge } from './stdio.ts'

const INVALID_REQUEST = -32600
const INVALID_PARAMS = -32602
const FAULT_CHARACTERS_MAX = 300
const requestForms = new Map(
  [
    CallToolRequestSchema,
    GetPromptRequestSchema,
    InitializeRequestSchema,
    ListPromptsRequestSchema,
    ListResourcesRequestSchema,
    ListResourceTemplatesRequestSchema,
    ListToolsRequestSchema,
    ReadResourceRequestSchema,
    SetLevelRequestSchema,
    SubscribeRequestSchema,
    UnsubscribeRequestSchema,
  ].map(form => [form.shape.method.value as string, form] as const),
)

/** Why the SDK would not take a message, which it says nothing of, or only in the words of its own schemas. */
export const refusalOf: Judge = message => {
  const fault = (form: z.ZodType) => {
    const { error } = form.safeParse(message)
    return error && plainLine(faultOf(error, message, 'the message'), FAULT_CHARACTERS_MAX)
  }
  if (!JSONRPCMessageSchema.safeParse(message).success)
    return {
      code: INVALID_REQUEST,
      sentence: `expected a message of JSON-RPC 2.0; ${fault(messageForm(message))}`,
    }
  const { id, method = '' } = message as { id?: unknown; method?: string }
  const form = id === undefined ? undefined : requestForms.get(method)
  const sentence = form && fault(form)
  return sentence === undefined ? undefined : { code: INVALID_PARAMS, sentence }
}

/** What a message was meant to be, by its members. */
function messageForm(message: unknown): z.ZodType {
  const members = Object(message) as object
  if ('result' in members) return JSONRPCResultResponseSchema
  if ('error' in members) return JSONRPCErrorResponseSchema
  return 'id' in members ? JSONRPCRequestSchema : JSONRPCNotificationSchema
}
