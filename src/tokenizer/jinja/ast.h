#pragma once
// The parsed template. Immutable after parsing, free of pointers into the source text.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tokenizer/jinja/callable.h"

namespace pellucid::tokenizer::jinja {

using NameId = std::uint32_t;

enum class ExprKind : std::uint8_t {
  kLiteral,      ///< id: literal
  kName,         ///< id: name
  kList,         ///< children: items
  kTuple,        ///< children: items
  kDict,         ///< children: key, value, key, value, ...
  kAttribute,    ///< children: object; id: name
  kItem,         ///< children: object, index
  kSlice,        ///< children: object, start, stop, step; absent ones are null
  kCall,         ///< children: callee, arguments; keywords name the last arguments
  kFilter,       ///< children: subject (null in set blocks), arguments; id: filter
  kTest,         ///< children: subject, arguments; id: test
  kUnary,        ///< children: operand; op
  kBinary,       ///< children: left, right; op
  kAnd,          ///< children: left, right
  kOr,           ///< children: left, right
  kNot,          ///< children: operand
  kConcat,       ///< children: pieces
  kCompare,      ///< children: first, then kOperand ...
  kOperand,      ///< children: value; op
  kConditional,  ///< children: condition, value, other value (null when absent)
};

enum class Op : std::uint8_t {
  kNone,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind = ExprKind::kLiteral;
  Op op = Op::kNone;
  std::uint16_t depth = 1;  ///< height of the tree below
  std::uint32_t line = 0;
  std::uint32_t id = 0;
  std::vector<ExprPtr> children;
  std::vector<NameId> keywords;
};

struct Statement;
using Body = std::vector<Statement>;

/// What an assignment or a for loop binds: a name, `namespace.attribute`, or a tuple of targets.
struct Target {
  enum class Kind : std::uint8_t { kName, kNamespaceAttribute, kTuple };
  Kind kind = Kind::kName;
  NameId name = 0;
  NameId attribute = 0;
  std::vector<Target> parts = {};
};

enum class StatementKind : std::uint8_t {
  kText,      ///< text
  kOutput,    ///< exprs: value
  kIf,        ///< exprs: conditions; bodies: one per condition, then perhaps the else body
  kFor,       ///< target; exprs: iterable, filter (or null); bodies: body, else body
  kSet,       ///< target; exprs: value
  kSetBlock,  ///< target; exprs: filters; bodies: body
  kMacro,     ///< macro
  kScope,     ///< bodies: body
  kBreak,
  kContinue,
};

struct Statement {
  StatementKind kind = StatementKind::kText;
  std::uint32_t line = 0;
  std::uint32_t macro = 0;
  std::string text = {};
  Target target = {};
  std::vector<ExprPtr> exprs = {};
  std::vector<Body> bodies = {};
};

struct Macro {
  NameId name = 0;
  std::vector<NameId> parameters;
  std::vector<ExprPtr> defaults;  ///< one per parameter, null where it has none
  Body body;
};

using Literal = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// A name or attribute of the source.
struct Name {
  std::string text;
  std::uint32_t method = 0;  ///< index in the table of methods (methods.h)
};

struct Filter {
  std::string_view name;
  Callable callable;
};

struct Test {
  std::string_view name;
  Predicate predicate;
};

struct Program {
  std::deque<Name> names;  ///< stable addresses: undefined values point at the text
  std::vector<Literal> literals;
  std::vector<const Filter*> filters;
  std::vector<const Test*> tests;
  std::deque<Macro> macros;
  NameId loop_name = 0;  ///< `loop`
  Body body;
};

}  // namespace pellucid::tokenizer::jinja
