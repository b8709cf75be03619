import { type TProperties, Type } from 'typebox';

/** An object that takes the named members and no other (specification: unknown properties are rejected). */
export function closedObject<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}
