import { testMatrix } from './cells.ts'
import { messages } from './rows/mail.ts'

testMatrix(messages)
